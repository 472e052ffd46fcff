/** The console of k6. */
declare const console: Record<'log' | 'debug' | 'info' | 'warn' | 'error', (...values: unknown[]) => void>;

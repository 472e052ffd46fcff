export const other = 'other';

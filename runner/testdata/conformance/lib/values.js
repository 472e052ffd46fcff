export default 'default';
export const named = 'named';
export const other = 'renamed';

export function elsewhere() {
  console.log('elsewhere');
}

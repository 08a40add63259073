export const keyboard = {
  title: 'Keyboard shortcuts',
  goTo: (page: string) => `Go to ${page.toLowerCase()}`,
  show: 'Show keyboard shortcuts',
  utc: 'Show all times in UTC, or in your zone again',
}

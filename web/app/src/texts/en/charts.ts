export const charts = {
  describedBelow: (title: string) => `${title}; the table below has the same values`,
  showAsTable: 'Show as table',
  time: 'Time',
}

export const jobs = {
  search: 'Search jobs',
}

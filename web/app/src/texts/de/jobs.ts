import type { Texts } from '../en'

export const jobs: Texts['jobs'] = {
  search: 'Jobs suchen',
}

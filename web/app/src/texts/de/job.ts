import type { Texts } from '../en'

export const job: Texts['job'] = {}

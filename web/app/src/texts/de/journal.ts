import type { Texts } from '../en'

export const journal: Texts['journal'] = {}

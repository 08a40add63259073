import type { Texts } from '../en'

export const types: Texts['types'] = {}

import type { Texts } from '../en'

export const errors: Texts['errors'] = {}

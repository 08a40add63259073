import type { Texts } from '../en'

export const now: Texts['now'] = {}

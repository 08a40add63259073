import type { Texts } from '../en'

export const fleet: Texts['fleet'] = {}

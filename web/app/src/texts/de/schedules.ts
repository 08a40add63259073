import type { Texts } from '../en'

export const schedules: Texts['schedules'] = {}

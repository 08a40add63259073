import type { Texts } from '../en'

export const queues: Texts['queues'] = {}

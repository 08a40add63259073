export const queues = {}

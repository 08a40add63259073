export const schedules = {}

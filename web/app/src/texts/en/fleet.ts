export const fleet = {}

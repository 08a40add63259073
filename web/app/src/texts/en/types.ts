export const types = {}

export const now = {}

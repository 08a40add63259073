export const journal = {}

const PATH_OF_TYPE = /^\/api\/jobs\/types\/([^/]+)\/$/

/** Return the job types that an OpenAPI document has an endpoint for. */
export function publicTypesOf(document: {
  readonly paths: Readonly<Record<string, unknown>>
}): string[] {
  return Object.keys(document.paths)
    .flatMap((path) => PATH_OF_TYPE.exec(path)?.[1] ?? [])
    .sort()
}

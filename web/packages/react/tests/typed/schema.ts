/** As `openapi-typescript` generates it from the document of an application. */
export interface paths {
  '/api/jobs/': { get: unknown }
  '/api/jobs/types/export_table/': {
    post: {
      requestBody: {
        content: { 'application/json': { table_id: number; format?: 'csv' | 'json' } }
      }
      responses: {
        202: { content: { 'application/json': { type: string; result?: number | null } } }
      }
    }
  }
}

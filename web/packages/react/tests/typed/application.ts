// An application that declares its job types as the README says. It is compiled, not run: see `npm run types`.
import { useHorae, useJobEnds, useJobStore, type JobTypesOf } from '@horae/react'

import type { paths } from './schema'

declare module '@horae/react' {
  // eslint-disable-next-line @typescript-eslint/no-empty-object-type -- the members come from the document
  interface JobTypes extends JobTypesOf<paths> {}
}

export function useExport(): () => Promise<number | null | undefined> {
  const { client } = useHorae()
  const { create } = useJobStore()
  useJobEnds('export_table', {})
  // @ts-expect-error -- there is no such type
  useJobEnds('import_table', {})
  return async () => {
    await create('export_table', { table_id: 7, format: 'csv' })
    // @ts-expect-error -- a parameter has another type
    await create('export_table', { table_id: '7' })
    // @ts-expect-error -- there is no such type
    await create('import_table', {})
    const job = await client.jobs.get<'export_table'>(7)
    return job.result
  }
}

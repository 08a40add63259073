import type { Job } from '@horae/vue'

const TITLES: Readonly<Record<string, string>> = {
  create_table: 'New table',
  import_table: 'Import',
  duplicate_table: 'Copy',
  export_table: 'Export',
}

/** What a job is called on the page. An import has the name of its file as a tag, and a copy describes itself. */
export function titleOf(job: Job): string {
  const title = TITLES[job.type] ?? 'Job'
  if (job.type === 'import_table' && job.tags[0]) return `${title} of ${job.tags[0]}`
  const { copy_name: copy } = job as { copy_name?: unknown }
  return typeof copy === 'string' ? `${title}: ${copy}` : title
}

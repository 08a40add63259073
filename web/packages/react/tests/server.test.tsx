// @vitest-environment node
import type { ReactElement } from 'react'
import { renderToString } from 'react-dom/server'
import { expect, it, vi } from 'vitest'

import {
  createHorae,
  HoraeProvider,
  ProgressBar,
  useJob,
  useJobEnds,
  useJobs,
  useJobStore,
} from '../src'

it('renders on a server, and requests nothing there', async () => {
  const fetch = vi.fn<typeof globalThis.fetch>(() => Promise.reject(new Error('no network')))
  const horae = createHorae({ fetch })

  function Page(): ReactElement {
    useJobEnds('import_csv', {})
    const { job } = useJob(7)
    void useJobStore().load()
    return <ProgressBar value={40} status={`${JSON.stringify(job)} ${useJobs().length}`} />
  }

  const html = renderToString(
    <HoraeProvider horae={horae}>
      <Page />
    </HoraeProvider>,
  )
  expect(html).toContain('40% · null 0')
  await new Promise((resolve) => setTimeout(resolve, 300))
  expect(fetch).not.toHaveBeenCalled()
})

it('says what is missing without a provider', () => {
  function Page(): ReactElement {
    return <p>{useJob(7).jobHumanReadableState}</p>
  }
  expect(() => renderToString(<Page />)).toThrow('there is no <HoraeProvider')
})

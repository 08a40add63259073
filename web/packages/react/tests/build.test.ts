// @vitest-environment node
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { InstalledPackages } from '../../client/tests/installed'

let application: InstalledPackages

beforeAll(async () => {
  application = await InstalledPackages.create(['client', 'react'], ['react'])
}, 60_000)

afterAll(() => application.remove())

describe('the built package', () => {
  it('adds one constant to a page that imports one constant', async () => {
    const code = await application.bundled(
      "import { ERROR_JOB_NOT_CANCELLABLE } from '@horae/react'\nexport const code = ERROR_JOB_NOT_CANCELLABLE\n",
    )
    expect(code).toContain('ERROR_JOB_NOT_CANCELLABLE')
    expect(code.length).toBeLessThanOrEqual(1000)
  })

  it('is imported on a server, and has the styles of its progress bars', async () => {
    const exported = await application.imported("export * from '@horae/react'\n")
    expect(exported).toHaveProperty('useJob')
    expect(await application.style('react')).toContain('.horae-progress__bar')
  })
})

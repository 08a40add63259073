import { HoraeError, Unreachable } from '@horae/vue'
import { createPinia, setActivePinia } from 'pinia'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

import { isAnonymous, mountPath, server } from '@/api/server'
import { loginFailure, useSession } from '@/session/session'

const LOOKER = {
  id: 'eve',
  roles: ['read_only'],
  sees_all: true,
  changes_all: false,
  changes_own: false,
}

beforeEach(() => {
  setActivePinia(createPinia())
  isAnonymous.value = false
})
afterEach(() => vi.restoreAllMocks())

describe('the session', () => {
  it('knows who may only look', async () => {
    vi.spyOn(server, 'me').mockResolvedValue(LOOKER)
    const session = useSession()
    await session.load()
    expect([session.readOnly, session.seesAll, session.changesOwn]).toEqual([true, true, false])
  })

  it('asks for a token when the server knows nobody', async () => {
    vi.spyOn(server, 'me').mockRejectedValue(new HoraeError(401, 'ERROR_NOT_AUTHENTICATED', ''))
    const session = useSession()
    await session.load()
    expect(session.needsToken).toBe(true)
    expect(session.readOnly).toBe(false)
  })

  it('does not take a server that is down for one that wants a token', async () => {
    vi.spyOn(server, 'me').mockRejectedValue(new Unreachable('down'))
    const session = useSession()
    await session.load()
    expect(session.needsToken).toBe(false)
    expect(session.unreachable).toBeInstanceOf(Unreachable)
  })

  it('begins with a token that is known', async () => {
    isAnonymous.value = true
    vi.spyOn(server, 'logIn').mockResolvedValue({ ...LOOKER, changes_all: true })
    const session = useSession()
    await session.logIn('secret')
    expect([session.needsToken, session.me?.id, session.changesAll]).toEqual([false, 'eve', true])
  })

  it('says what is wrong with a login', () => {
    expect(loginFailure(new HoraeError(401, 'ERROR_NOT_AUTHENTICATED', ''))).toContain('not valid')
    expect(loginFailure(new HoraeError(400, 'ERROR_NO_TOKENS', ''))).toContain('no tokens')
    expect(loginFailure(new Error('boom'))).toBe('boom')
  })
})

describe('where the application is mounted', () => {
  it('is what the server says, or the root', () => {
    const page = document.implementation.createHTMLDocument()
    expect(mountPath(page)).toBe('/')
    page.head.innerHTML = '<base href="https://example.org/tools/horae/">'
    expect(mountPath(page)).toBe('/tools/horae/')
  })
})

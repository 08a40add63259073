import { HoraeError, Unreachable } from '@horae/vue'
import { createPinia, setActivePinia } from 'pinia'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

import { isAnonymous, mountPath, server } from '@/api/server'
import { loginFailure, useSession } from '@/session/session'

const READ_ONLY_USER = {
  id: 'eve',
  roles: ['read_only'],
  sees_all: true,
  sees_values: true,
  changes_all: false,
  changes_own: false,
}

beforeEach(() => {
  setActivePinia(createPinia())
  isAnonymous.value = false
})
afterEach(() => vi.restoreAllMocks())

describe('the session', () => {
  it('recognizes a read-only user', async () => {
    vi.spyOn(server, 'me').mockResolvedValue(READ_ONLY_USER)
    const session = useSession()
    await session.load()
    expect([session.readOnly, session.seesAll, session.changesOwn]).toEqual([true, true, false])
  })

  it('lets staff change everything, and others what is their own', async () => {
    const me = vi.spyOn(server, 'me').mockResolvedValue({ ...READ_ONLY_USER, changes_own: true })
    const session = useSession()
    expect(session.mayChange('eve')).toBe(false)
    await session.load()
    expect(['eve', 'bob', null].map(session.mayChange)).toEqual([true, false, false])
    me.mockResolvedValue({ ...READ_ONLY_USER, changes_all: true })
    await session.load()
    expect(['eve', 'bob', null].map(session.mayChange)).toEqual([true, true, true])
  })

  it('asks for a token when authentication is required', async () => {
    vi.spyOn(server, 'me').mockRejectedValue(new HoraeError(401, 'ERROR_NOT_AUTHENTICATED', ''))
    const session = useSession()
    await session.load()
    expect([session.needsLogin, session.isElsewhere]).toEqual([true, false])
    expect(session.readOnly).toBe(false)
  })

  it('asks for no token where the application in front authenticates users', async () => {
    const there = { code: 'refused_not_logged_in_there', values: {} }
    vi.spyOn(server, 'me').mockRejectedValue(
      new HoraeError(401, 'ERROR_NOT_AUTHENTICATED', '', there),
    )
    const session = useSession()
    await session.load()
    expect([session.needsLogin, session.isElsewhere]).toEqual([true, true])
  })

  it('does not ask for a token when the server does not answer', async () => {
    vi.spyOn(server, 'me').mockRejectedValue(new Unreachable('down'))
    const session = useSession()
    await session.load()
    expect(session.needsLogin).toBe(false)
    expect(session.unreachable).toBeInstanceOf(Unreachable)
  })

  it('starts with a valid token', async () => {
    isAnonymous.value = true
    vi.spyOn(server, 'logIn').mockResolvedValue({ ...READ_ONLY_USER, changes_all: true })
    const session = useSession()
    await session.logIn('secret')
    expect([session.needsLogin, session.me?.id, session.changesAll]).toEqual([false, 'eve', true])
  })

  it('explains why a login failed', () => {
    expect(loginFailure(new HoraeError(401, 'ERROR_NOT_AUTHENTICATED', ''))).toContain('not valid')
    expect(loginFailure(new HoraeError(400, 'ERROR_NO_TOKENS', ''))).toContain('no tokens')
    expect(loginFailure(new Error('boom'))).toBe('boom')
  })
})

describe('where the application is mounted', () => {
  it('is read from <base>, or is the root', () => {
    const page = document.implementation.createHTMLDocument()
    expect(mountPath(page)).toBe('/')
    page.head.innerHTML = '<base href="https://example.org/tools/horae/">'
    expect(mountPath(page)).toBe('/tools/horae/')
  })
})

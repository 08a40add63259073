import { HoraeError, useJobStore } from '@horae/vue'
import { defineStore } from 'pinia'
import { computed, shallowRef } from 'vue'

import type { Me } from '@/api/model'
import { client, isAnonymous, server } from '@/api/server'

const NO_TOKENS = 'ERROR_NO_TOKENS'

/** Who looks at the page, and what the server lets them do. */
export const useSession = defineStore('session', () => {
  const me = shallowRef<Me | null>(null)
  /** Nothing can be said of the user before the server has answered. */
  const unreachable = shallowRef<unknown>(null)

  async function load(): Promise<void> {
    try {
      me.value = await server.me()
      unreachable.value = null
      isAnonymous.value = false
    } catch (error) {
      if (error instanceof HoraeError && error.status === 401) isAnonymous.value = true
      else unreachable.value = error
    }
  }

  /** Hand a token to the server, which keeps it in a cookie. @throws {HoraeError} it is not known. */
  async function logIn(token: string): Promise<void> {
    me.value = await server.logIn(token)
    unreachable.value = null
    isAnonymous.value = false
    client.authorize(null) // the cookie speaks now; whoever waits may go on
  }

  async function logOut(): Promise<void> {
    await server.logOut()
    useJobStore().clear()
    me.value = null
    client.authorize(null) // other tabs must not go on with what was this user's
    await load() // where a token is not needed one is somebody all the same
  }

  return {
    me,
    unreachable,
    /** Whether a token must be given before anything is shown. */
    needsToken: computed(() => isAnonymous.value),
    seesAll: computed(() => me.value?.sees_all ?? false),
    changesAll: computed(() => me.value?.changes_all ?? false),
    changesOwn: computed(() => me.value?.changes_own ?? false),
    /** Somebody who may look and change nothing. */
    readOnly: computed(() => me.value !== null && !me.value.changes_own && !me.value.changes_all),
    load,
    logIn,
    logOut,
  }
})

/** Why a login failed, for people. */
export function loginFailure(error: unknown): string {
  if (error instanceof HoraeError && error.status === 401) return 'This token is not valid.'
  if (error instanceof HoraeError && error.code === NO_TOKENS) {
    return 'This server has no tokens to log in with: the application in front of it authenticates users.'
  }
  return error instanceof Error ? error.message : String(error)
}

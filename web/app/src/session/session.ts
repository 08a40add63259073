import { HoraeError, useJobStore } from '@horae/vue'
import { defineStore } from 'pinia'
import { computed, shallowRef, type Ref } from 'vue'

import type { Me } from '@/api/model'
import { client, isAnonymous, server } from '@/api/server'
import { refusalCode } from '@/texts/sentences'
import { texts } from '@/texts/texts'

const NO_TOKENS = 'ERROR_NO_TOKENS'
const NOT_LOGGED_IN_THERE = 'refused_not_logged_in_there'

/** The user of the page and their permissions. */
export const useSession = defineStore('session', () => {
  const me = shallowRef<Me | null>(null)
  /** The error if the user could not be read; null otherwise. */
  const unreachable = shallowRef<unknown>(null)
  /** Whether users log in to the application that this page is a part of, and not here. */
  const isElsewhere = shallowRef(false)

  async function load(): Promise<void> {
    try {
      me.value = await server.me()
      unreachable.value = null
      isAnonymous.value = false
    } catch (error) {
      if (error instanceof HoraeError && error.status === 401) {
        isElsewhere.value = refusalCode(error.sentence) === NOT_LOGGED_IN_THERE
        isAnonymous.value = true
      } else unreachable.value = error
    }
  }

  /** Log in with a token, which the server stores in a cookie. @throws {HoraeError} The token is not valid. */
  async function logIn(token: string): Promise<void> {
    me.value = await server.logIn(token)
    unreachable.value = null
    isAnonymous.value = false
    client.authorize(null) // the cookie replaces the token; waiting requests may continue
  }

  async function logOut(): Promise<void> {
    await server.logOut()
    useJobStore().clear()
    me.value = null
    client.authorize(null) // other tabs must not continue with the data of this user
    await load() // a server that requires no token has a user even without a login
  }

  return {
    me,
    unreachable,
    isElsewhere,
    /** Whether the user must log in first. */
    needsLogin: computed(() => isAnonymous.value),
    ...permissionsOf(me),
    load,
    logIn,
    logOut,
  }
})

/** What the user may see and change. */
function permissionsOf(me: Readonly<Ref<Me | null>>) {
  return {
    seesAll: computed(() => me.value?.sees_all ?? false),
    /** Whether the user may see parameters, results and technical errors of all jobs. */
    seesValues: computed(() => me.value?.sees_values ?? false),
    /** Whether the user may see the parameters and the result of a job of this owner. */
    seesValuesOf: (owner: string | null) => seesValues(me.value, owner),
    changesAll: computed(() => me.value?.changes_all ?? false),
    changesOwn: computed(() => me.value?.changes_own ?? false),
    /** Whether the user may change what belongs to an owner. */
    mayChange: (owner: string | null) => changes(me.value, owner),
    /** Whether the user may view everything but change nothing. */
    readOnly: computed(() => me.value !== null && !me.value.changes_own && !me.value.changes_all),
  }
}

function changes(me: Me | null, owner: string | null): boolean {
  return me !== null && (me.changes_all || (me.changes_own && owner === me.id))
}

function seesValues(me: Me | null, owner: string | null): boolean {
  return me !== null && (me.sees_values || (me.roles.includes('owner') && owner === me.id))
}

/** Describe for the user why a login failed. */
export function loginFailure(error: unknown): string {
  if (error instanceof HoraeError && error.status === 401) {
    return texts.value.session.invalid
  }
  if (error instanceof HoraeError && error.code === NO_TOKENS) {
    return texts.value.session.noTokens
  }
  return error instanceof Error ? error.message : String(error)
}

import {
  messagesFor,
  type ClientOptions,
  type HoraeClient,
  type LabelText,
  type Messages,
  type PollingOptions,
} from '@horae/client'
import {
  computed,
  inject,
  toValue,
  type ComputedRef,
  type InjectionKey,
  type MaybeRefOrGetter,
  type Plugin,
} from 'vue'

import { createClient } from '../client/reactiveClient'

/** What `createHorae` provides to all components and stores of an application. */
export interface Horae {
  readonly client: HoraeClient
  readonly messages: ComputedRef<Messages>
  readonly labelText: LabelText | undefined
  readonly polling: Partial<PollingOptions>
  /** @deprecated Renamed to `polling`. */
  readonly pace: Partial<PollingOptions>
}

export interface HoraeOptions extends ClientOptions {
  /** The client to use. By default one is created from the other options. */
  readonly client?: HoraeClient
  /** A language tag; `en` by default. */
  readonly locale?: MaybeRefOrGetter<string>
  /** Texts of further languages, or replacements, by language tag. */
  readonly messages?: Readonly<Record<string, Partial<Messages>>>
  readonly labelText?: LabelText
  readonly polling?: Partial<PollingOptions>
  /** @deprecated Renamed to `polling`. */
  readonly pace?: Partial<PollingOptions>
}

export const horaeKey: InjectionKey<Horae> = Symbol('horae')
/** The texts of the components below: those of the plugin, or of a custom element. */
export const messagesKey: InjectionKey<ComputedRef<Messages>> = Symbol('horae messages')

/** Create the plugin: `app.use(createPinia()).use(createHorae({ baseUrl, token, locale }))`. */
export function createHorae(options: HoraeOptions = {}): Horae & Plugin {
  // eslint-disable-next-line @typescript-eslint/no-deprecated -- the previous name is still accepted
  const { client, locale = 'en', messages, labelText, pace, polling, ...clientOptions } = options
  const pollingOptions = polling ?? pace ?? {}
  const horae: Horae = {
    client: client ?? createClient(clientOptions),
    messages: computed(() => messagesFor(toValue(locale), messages)),
    labelText,
    polling: pollingOptions,
    // eslint-disable-next-line @typescript-eslint/no-deprecated -- the previous name is still provided
    pace: pollingOptions,
  }
  return {
    ...horae,
    install: (app) => {
      app.provide(horaeKey, horae)
      app.provide(messagesKey, horae.messages)
    },
  }
}

/** Return what the plugin provides. @throws if the plugin is not installed. */
export function useHorae(): Horae {
  const horae = inject(horaeKey, null)
  if (!horae) throw new Error('the Horae plugin is not installed: call app.use(createHorae(…))')
  return horae
}

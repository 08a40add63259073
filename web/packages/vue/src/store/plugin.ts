import {
  computed,
  inject,
  toValue,
  type ComputedRef,
  type InjectionKey,
  type MaybeRefOrGetter,
  type Plugin,
} from 'vue'

import { createClient, type ClientOptions, type HoraeClient } from '../client/client'
import { messagesFor, type Messages } from '../i18n/messages'
import type { LabelText } from '../job/wording'
import type { PaceOptions } from '../tracking/pace'

/** What `createHorae` gives to every component and store of an application. */
export interface Horae {
  readonly client: HoraeClient
  readonly messages: ComputedRef<Messages>
  readonly labelText: LabelText | undefined
  readonly pace: Partial<PaceOptions>
}

export interface HoraeOptions extends ClientOptions {
  /** In place of a client made from the other options. */
  readonly client?: HoraeClient
  /** A language tag, `en` unless given. */
  readonly locale?: MaybeRefOrGetter<string>
  /** More languages, or other words, by language tag. */
  readonly messages?: Readonly<Record<string, Messages>>
  readonly labelText?: LabelText
  readonly pace?: Partial<PaceOptions>
}

export const horaeKey: InjectionKey<Horae> = Symbol('horae')

/** The plugin: `app.use(createPinia()).use(createHorae({ baseUrl, token, locale }))`. */
export function createHorae(options: HoraeOptions = {}): Horae & Plugin {
  const { client, locale = 'en', messages, labelText, pace = {}, ...clientOptions } = options
  const horae: Horae = {
    client: client ?? createClient(clientOptions),
    messages: computed(() => messagesFor(toValue(locale), messages)),
    labelText,
    pace,
  }
  return { ...horae, install: (app) => void app.provide(horaeKey, horae) }
}

/** What the application has installed. */
export function useHorae(): Horae {
  const horae = inject(horaeKey, null)
  if (!horae) throw new Error('app.use(createHorae(…)) is missing')
  return horae
}

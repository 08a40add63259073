import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

import { FakeBrowser, FakeEvents, pass, Tab } from './tabs'

const JOB = 'event: job\nid: a-7\ndata: {"id": 7}\n\n'
/** Milliseconds within which the tabs have chosen the one that holds the stream. */
const SETTLED = 200

let browser: FakeBrowser
let events: FakeEvents
let tabs: Tab[]

function open(user: string | null | (() => string | null | Error) = 'alice'): Tab {
  const tab = new Tab(browser, events, typeof user === 'function' ? user : () => user)
  tabs.push(tab)
  return tab
}

beforeEach(() => {
  vi.useFakeTimers()
  browser = new FakeBrowser()
  events = new FakeEvents()
  tabs = []
})

afterEach(async () => {
  for (const tab of tabs) tab.leave()
  await pass()
  expect(vi.getTimerCount()).toBe(0)
  vi.useRealTimers()
})

describe('the tabs of a user', () => {
  it('share one stream whose events reach all of them', async () => {
    for (let count = 0; count < 10; count += 1) open()
    await pass(SETTLED)
    events.only.send(JOB)
    await pass()
    expect(events.opened).toBe(1)
    expect(tabs.map((tab) => tab.feed.status.value)).toEqual(tabs.map(() => 'open'))
    expect(tabs.map((tab) => tab.received.at(-1))).toEqual(tabs.map(() => 'job {"id": 7}'))
  })

  it('that open later are notified that they missed events', async () => {
    open()
    await pass(SETTLED)
    const late = open()
    await pass(SETTLED)
    expect(late.received).toEqual(['hello {"resumed": false}'])
    expect(events.opened).toBe(1)
  })

  it('resume after the last event when the tab with the stream is closed', async () => {
    open()
    open()
    await pass(SETTLED)
    events.only.send(JOB)
    await pass()
    const holder = events.only.tab
    holder.close()
    await pass(SETTLED)
    expect(events.only.tab).not.toBe(holder)
    expect(events.only.lastEventId).toBe('a-7')
  })

  it('take over when the tab with the stream crashes', async () => {
    open()
    open()
    await pass(SETTLED)
    const lost = events.only
    lost.tab.crash()
    await pass(7000)
    expect(events.only.tab).not.toBe(lost.tab)
  })

  it('have no stream while all of them are hidden', async () => {
    const [first, second] = [open(), open()]
    await pass(SETTLED)
    first.show(false)
    await pass(SETTLED)
    expect(events.only.tab).toBe(second)
    second.show(false)
    await pass(SETTLED)
    expect(events.streams.size).toBe(0)
    expect(first.feed.status.value).toBe('waiting')
    first.show(true)
    await pass(SETTLED)
    expect(events.only.tab).toBe(first)
    expect(second.feed.status.value).toBe('open') // it receives the events of the first tab
  })

  it('receive no events of another user', async () => {
    const alice = open('alice')
    await pass(SETTLED)
    const bob = open('bob')
    await pass(SETTLED)
    expect(events.streams.size).toBe(2)
    for (const stream of events.streams) if (stream.tab === bob) stream.send(JOB)
    await pass()
    expect(alice.received).toEqual(['hello {"resumed": false}'])
    expect(bob.received).toContain('job {"id": 7}')
  })

  it('ask for the user again when one of them logs in as another user', async () => {
    let user = 'alice'
    const [first, second] = [open(() => user), open(() => user)]
    await pass(SETTLED)
    user = 'bob'
    first.feed.reconnect()
    await pass(SETTLED)
    expect(events.only.lastEventId).toBe(null)
    events.only.send(JOB)
    await pass()
    expect([first.received.at(-1), second.received.at(-1)]).toEqual([
      'job {"id": 7}',
      'job {"id": 7}',
    ])
  })

  it('do not broadcast events of a stream that was reopened for another user', async () => {
    let user = 'alice'
    const [first, second] = [open(() => user), open(() => user)]
    await pass(SETTLED)
    const { tab: holder } = events.only
    const other = holder === first ? second : first
    other.show(false)
    user = 'bob' // by a login form of the application, of which no tab is notified
    events.only.end()
    await pass(5000)
    expect(events.only.tab).toBe(holder)
    const received = other.received.length
    events.only.send(JOB)
    await pass()
    expect(other.received).toHaveLength(received)
  })

  it('share no stream if the user is not known', async () => {
    open(null)
    open(null)
    await pass(SETTLED)
    expect(events.streams.size).toBe(2)
  })

  it('ask for the user again later if there is no response', async () => {
    let found: string | Error = new Error('not logged in')
    const tab = open(() => found)
    await pass(SETTLED)
    expect([events.opened, tab.feed.status.value]).toEqual([0, 'waiting'])
    found = 'alice'
    await pass(1000)
    expect(tab.feed.status.value).toBe('open')
  })
})

describe('a tab of a browser without channels', () => {
  it('has a stream of its own while it is visible', async () => {
    const tab = new Tab(null, events, () => 'alice')
    tabs.push(tab)
    await pass()
    expect(events.only.tab).toBe(tab)
    tab.show(false)
    await pass()
    expect(events.streams.size).toBe(0)
    tab.show(true)
    await pass()
    expect(events.only.lastEventId).toBe('a-0')
  })
})

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

import { FakeBrowser, FakeEvents, pass, Tab } from './tabs'

const JOB = 'event: job\nid: a-7\ndata: {"id": 7}\n\n'
const AGREED = 200

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
  it('have one stream, of which all hear', async () => {
    for (let count = 0; count < 10; count += 1) open()
    await pass(AGREED)
    events.only.send(JOB)
    await pass()
    expect(events.opened).toBe(1)
    expect(tabs.map((tab) => tab.feed.status.value)).toEqual(tabs.map(() => 'open'))
    expect(tabs.map((tab) => tab.heard.at(-1))).toEqual(tabs.map(() => 'job {"id": 7}'))
  })

  it('that come later are told to read what they show', async () => {
    open()
    await pass(AGREED)
    const late = open()
    await pass(AGREED)
    expect(late.heard).toEqual(['hello {"resumed": false}'])
    expect(events.opened).toBe(1)
  })

  it('go on where the stream was when the one that held it is closed', async () => {
    open()
    open()
    await pass(AGREED)
    events.only.send(JOB)
    await pass()
    const holder = events.only.tab
    holder.close()
    await pass(AGREED)
    expect(events.only.tab).not.toBe(holder)
    expect(events.only.last).toBe('a-7')
  })

  it('take over when the one that held it has ended without a word', async () => {
    open()
    open()
    await pass(AGREED)
    const lost = events.only
    lost.tab.crash()
    await pass(7000)
    expect(events.only.tab).not.toBe(lost.tab)
  })

  it('have none while nobody sees any of them', async () => {
    const [first, second] = [open(), open()]
    await pass(AGREED)
    first.show(false)
    await pass(AGREED)
    expect(events.only.tab).toBe(second)
    second.show(false)
    await pass(AGREED)
    expect(events.streams.size).toBe(0)
    expect(first.feed.status.value).toBe('waiting')
    first.show(true)
    await pass(AGREED)
    expect(events.only.tab).toBe(first)
    expect(second.feed.status.value).toBe('open') // it hears of what the first one is told
  })

  it('hear nothing that is for another user', async () => {
    const alice = open('alice')
    await pass(AGREED)
    const bob = open('bob')
    await pass(AGREED)
    expect(events.streams.size).toBe(2)
    for (const stream of events.streams) if (stream.tab === bob) stream.send(JOB)
    await pass()
    expect(alice.heard).toEqual(['hello {"resumed": false}'])
    expect(bob.heard).toContain('job {"id": 7}')
  })

  it('find out anew who they are when one of them logs in as somebody else', async () => {
    let user = 'alice'
    const [first, second] = [open(() => user), open(() => user)]
    await pass(AGREED)
    user = 'bob'
    first.feed.reconnect()
    await pass(AGREED)
    expect(events.only.last).toBe(null)
    events.only.send(JOB)
    await pass()
    expect([first.heard.at(-1), second.heard.at(-1)]).toEqual(['job {"id": 7}', 'job {"id": 7}'])
  })

  it('do not hand on what a stream brings that was opened anew for another user', async () => {
    let user = 'alice'
    const [first, second] = [open(() => user), open(() => user)]
    await pass(AGREED)
    const { tab: holder } = events.only
    const other = holder === first ? second : first
    other.show(false)
    user = 'bob' // by a form of the application, of which no tab is told
    events.only.end()
    await pass(5000)
    expect(events.only.tab).toBe(holder)
    const heard = other.heard.length
    events.only.send(JOB)
    await pass()
    expect(other.heard).toHaveLength(heard)
  })

  it('share no stream where nobody can tell who they are', async () => {
    open(null)
    open(null)
    await pass(AGREED)
    expect(events.streams.size).toBe(2)
  })

  it('ask again later who they are while there is no answer', async () => {
    let found: string | Error = new Error('not logged in')
    const tab = open(() => found)
    await pass(AGREED)
    expect([events.opened, tab.feed.status.value]).toEqual([0, 'waiting'])
    found = 'alice'
    await pass(1000)
    expect(tab.feed.status.value).toBe('open')
  })
})

describe('a tab of a browser without channels', () => {
  it('has a stream of its own, while somebody sees it', async () => {
    const tab = new Tab(null, events, () => 'alice')
    tabs.push(tab)
    await pass()
    expect(events.only.tab).toBe(tab)
    tab.show(false)
    await pass()
    expect(events.streams.size).toBe(0)
    tab.show(true)
    await pass()
    expect(events.only.last).toBe('a-0')
  })
})

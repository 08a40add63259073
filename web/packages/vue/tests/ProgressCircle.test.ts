import { describe, expect, it } from 'vitest'
import { createApp } from 'vue'

import { ProgressCircle } from '../src'

function circle(props: object): HTMLElement {
  const element = document.createElement('div')
  createApp(ProgressCircle, { ...props }).mount(element)
  return element
}

const arcOf = (element: HTMLElement): string | null | undefined =>
  element.querySelector('.horae-circle__bar')?.getAttribute('stroke-dasharray')

describe('the progress circle', () => {
  it('is an arc with a percentage, and says both to a screen reader', () => {
    const element = circle({ value: 33.4, status: 'Importing' })
    expect(arcOf(element)).toBe('33.4 100')
    expect(element.textContent.trim()).toMatch(/^33%\s*Importing$/)
    const role = element.querySelector('[role=progressbar]')
    expect(role?.getAttribute('aria-valuenow')).toBe('33')
    expect(role?.getAttribute('aria-valuetext')).toBe('33% Importing')
  })

  it('stays within its bounds, and is empty at the start', () => {
    expect([arcOf(circle({ value: 140 })), arcOf(circle({ value: 0 }))]).toEqual([
      '100 100',
      undefined,
    ])
  })

  it('has the failed colour and can hide the number', () => {
    const element = circle({ value: 20, failed: true, showValue: false })
    expect(element.querySelector('.horae-circle__bar--failed')).not.toBeNull()
    expect(element.textContent.trim()).toBe('')
  })
})

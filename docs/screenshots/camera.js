import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { chromium } from 'playwright-core'
import { executable } from '../../dist/tests/support/browser.js'

const images = path.join(import.meta.dirname, '../images')
/** Bytes. */
const sizeLimit = 100_000

/** The scripts of a page, such as the toolbar, wait for its profile. */
const patience = 1000

/**
 * @typedef {object} Camera
 * @property {(name: string, url: string, options?: PictureOptions) => Promise<void>} take
 * @property {() => Promise<void>} close
 *
 * @typedef {{ width?: number, height?: number, colorScheme?: 'light' | 'dark' }} PictureOptions
 */

/** Opens the browser that takes pictures of pages. @returns {Promise<Camera>} */
export async function openCamera() {
  const browser = await chromium.launch({ executablePath: String(executable), args: ['--no-sandbox', '--disable-gpu'] })
  mkdirSync(images, { recursive: true })
  return {
    close: () => browser.close(),

    async take(name, url, { colorScheme = 'light', height = 860, width = 1280 } = {}) {
      const page = await browser.newPage({ viewport: { width, height }, colorScheme, reducedMotion: 'reduce' })
      // For programs it is folded.
      await page.addInitScript("localStorage.setItem('profiler-toolbar', 'open')")
      await page.goto(url)
      await new Promise(resolve => setTimeout(resolve, patience))
      const session = await page.context().newCDPSession(page)
      const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: 82 })
      const image = Buffer.from(data, 'base64')
      if (image.length > sizeLimit) throw new Error(`${name} has ${image.length} bytes.`)
      writeFileSync(path.join(images, `${name}.webp`), image)
      process.stdout.write(`${name}.webp: ${image.length} bytes\n`)
      await page.close()
    },
  }
}

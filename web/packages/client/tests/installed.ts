import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

import { build } from 'vite'

const PACKAGES = fileURLToPath(new URL('../..', import.meta.url))
const MODULES = join(PACKAGES, '../node_modules')

/** An application in a folder of its own, with packages as npm would install them. */
export class InstalledPackages {
  readonly #folder: string

  private constructor(folder: string) {
    this.#folder = folder
  }

  /** Build packages of this repository into a new application that also has `libraries`. */
  static async create(
    names: readonly string[],
    libraries: readonly string[],
  ): Promise<InstalledPackages> {
    const folder = await mkdtemp(join(tmpdir(), 'horae-packages-'))
    for (const name of names) {
      const source = join(PACKAGES, name)
      const installed = join(folder, 'node_modules/@horae', name)
      await build({
        configFile: join(source, 'vite.config.ts'),
        root: source,
        logLevel: 'error',
        build: { outDir: join(installed, 'dist') },
      })
      await cp(join(source, 'package.json'), join(installed, 'package.json'))
    }
    for (const name of libraries) {
      await symlink(join(MODULES, name), join(folder, 'node_modules', name))
    }
    await writeFile(join(folder, 'package.json'), '{"type": "module"}')
    return new InstalledPackages(folder)
  }

  /** Bundle a module of the application, and return its code. */
  async bundled(source: string): Promise<string> {
    await writeFile(join(this.#folder, 'page.js'), source)
    await build({
      configFile: false,
      root: this.#folder,
      logLevel: 'error',
      build: {
        outDir: 'out',
        lib: { entry: 'page.js', formats: ['es'], fileName: 'page' },
        minify: true,
      },
    })
    return readFile(join(this.#folder, 'out/page.js'), 'utf8')
  }

  /** Import a module of the application into this process. */
  async imported(source: string): Promise<unknown> {
    const file = join(this.#folder, 'server.mjs')
    await writeFile(file, source)
    return import(/* @vite-ignore */ pathToFileURL(file).href)
  }

  /** Return the style sheet of a package. */
  async style(name: string): Promise<string> {
    return readFile(join(this.#folder, 'node_modules/@horae', name, 'dist/style.css'), 'utf8')
  }

  async remove(): Promise<void> {
    await rm(this.#folder, { recursive: true })
  }
}

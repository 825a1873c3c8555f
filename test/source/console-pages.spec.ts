import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { CONSOLE_PAGES } from '../../src/system/console/console.controller.js';
import { ROOT } from './product-sources.js';

it('every page of the console is served at its address, also to who opens or reloads it there', () => {
  const router = readFileSync(join(ROOT, 'ui/src/app/router.tsx'), 'utf8');
  const sections = [...router.matchAll(/page\(\s*'\/([^'/]*)/g)].map(([, section = '']) => section);
  expect(sections.length).toBeGreaterThan(30);
  expect(sections.filter((section) => !CONSOLE_PAGES.includes(section))).toEqual([]);
  const served = CONSOLE_PAGES.filter((page) => !page.endsWith('/*'));
  expect(served.filter((page) => page !== '' && !sections.includes(page))).toEqual([]);
});

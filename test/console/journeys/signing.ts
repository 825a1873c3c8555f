import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { type ConsolePlace, download, navigation } from '../place.js';

const ORDERS = [
  { key: 'default', algorithm: 'sha256', tool: ['sha256sum'], size: 7_000_001 },
  { key: 'demo-rsa', algorithm: 'sha3-384', tool: ['openssl', 'dgst', '-sha3-384', '-r'], size: 0 },
];

async function choose(page: Page, file: string | { name: string; mimeType: string; buffer: Buffer }): Promise<void> {
  await page.locator('input[type=file]').setInputFiles(file);
}

export const sign = (page: Page) => page.getByRole('button', { name: 'Sign', exact: true }).click();
export const signature = (page: Page) => page.getByRole('heading', { name: 'Signature', exact: true });

export function signingJourneys(at: () => ConsolePlace): void {
  it('the first visit shows what to do, and ticks off what is done', async () => {
    const { page, context, assertClean } = await at().asAdmin('/');
    await page.getByRole('heading', { name: 'First steps' }).waitFor();
    await page.getByRole('link', { name: 'Sign your first file' }).click();
    await choose(page, { name: 'a.txt', mimeType: 'text/plain', buffer: Buffer.from('a') });
    await sign(page);
    await signature(page).waitFor();
    await navigation(page).getByRole('link', { name: 'Dashboard' }).click();
    const step = page.getByRole('listitem').filter({ hasText: 'Sign your first file' });
    await step.getByText('done', { exact: true }).waitFor();
    assertClean();
    await context.close();
  });

  it('a file is hashed here as sha256sum does, never sent, signed, verified by openssl, and found again', async () => {
    const { folder, asAdmin } = at();
    const { page, context, assertClean } = await asAdmin('/sign');
    const sent: number[] = [];
    page.on('request', (request) => sent.push(request.postDataBuffer()?.length ?? 0));
    for (const { key, algorithm, tool, size } of ORDERS) {
      const name = `artifact ${size}.bin`;
      writeFileSync(join(folder, name), randomBytes(size));
      await choose(page, join(folder, name));
      await page.getByLabel('Key').selectOption(key);
      await page.getByRole('button', { name: 'More options' }).click();
      await page.getByLabel('Digest algorithm').selectOption(algorithm);
      const [command = '', ...args] = tool;
      const expected = execFileSync(command, [...args, join(folder, name)], { encoding: 'utf8' }).split(' ')[0] ?? '';
      expect(expected).toMatch(/^[0-9a-f]{64,96}$/);
      await page.getByText(expected).waitFor();
      await sign(page);
      await signature(page).waitFor();
      expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe(name);
      for (const button of ['Download the signature', 'Public key']) {
        await download(folder, page, () => page.getByRole('button', { name: button }).click());
      }
      const line = (await page.getByLabel('Verify command').first().textContent()) ?? '';
      expect(execFileSync('sh', ['-c', line], { cwd: folder, encoding: 'utf8' })).toContain('Verified OK');
      await navigation(page).getByRole('link', { name: 'Sign a file' }).click();
    }
    expect(Math.max(...sent)).toBeLessThan(2000);
    await page.goto(`${at().url}/requests?status=SIGNED`);
    await page
      .getByRole('link', { name: /^artifact/ })
      .first()
      .click();
    await signature(page).waitFor();
    assertClean();
    await context.close();
  });
}

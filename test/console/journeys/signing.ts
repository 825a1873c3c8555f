import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { unique } from '../../approvals/approvers.js';
import { createKey, digestOf } from '../../support/signing.js';
import { type ConsolePlace, download, navigation } from '../place.js';

const ORDERS = [
  { key: 'default', algorithm: 'sha256', tool: ['sha256sum'], size: 7_000_001 },
  { key: 'demo-rsa', algorithm: 'sha3-384', tool: ['openssl', 'dgst', '-sha3-384', '-r'], size: 0 },
];

async function choose(page: Page, file: string | { name: string; mimeType: string; buffer: Buffer }): Promise<void> {
  await page.locator('input[type=file]').setInputFiles(file);
}

export const pressSign = (page: Page) => page.getByRole('button', { name: 'Sign', exact: true }).click();
export const signature = (page: Page) => page.getByRole('heading', { name: 'Signature', exact: true });

export function signingJourneys(at: () => ConsolePlace): void {
  it('the first-steps guide marks completed steps', async () => {
    const { page, close, assertClean } = await at().asAdmin('/');
    await page.getByRole('heading', { name: 'First steps' }).waitFor();
    await page.getByRole('link', { name: 'Sign your first file' }).click();
    await choose(page, { name: 'a.txt', mimeType: 'text/plain', buffer: Buffer.from('a') });
    await pressSign(page);
    await signature(page).waitFor();
    await navigation(page).getByRole('link', { name: 'Dashboard' }).click();
    const step = page.getByRole('listitem').filter({ hasText: 'Sign your first file' });
    await step.getByText('completed', { exact: true }).waitFor();
    assertClean();
    await close();
  });

  it('hashes a file in the browser without sending it, signs it, and openssl verifies the signature', async () => {
    const { folder, asAdmin } = at();
    const { page, close, assertClean } = await asAdmin('/sign');
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
      await pressSign(page);
      await signature(page).waitFor();
      expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe(name);
      for (const button of ['Download signature', 'Public key']) {
        await download(folder, page, () => page.getByRole('button', { name: button }).click());
      }
      const line = (await page.getByLabel('Verification command').first().textContent()) ?? '';
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
    await close();
  });

  it('verifies a signature, and lists the signing requests for a file', async () => {
    const { service, apiKey, asAdmin } = at();
    const content = randomBytes(5000);
    const { body: signed } = await service.call('POST', '/api/v1/sign/digest', {
      key: apiKey,
      body: { digest: digestOf(content), key: 'demo-rsa', scheme: 'rsa-pss', metadata: { filename: unique('app') } },
    });
    const { page, close, assertClean } = await asAdmin('/verify');
    const put = (which: number, name: string, buffer: Buffer) =>
      page.locator('input[type=file]').nth(which).setInputFiles({ name, mimeType: 'application/octet-stream', buffer });
    const verify = () => page.getByRole('button', { name: 'Verify', exact: true }).click();
    await put(0, 'app.bin', content);
    await page.getByRole('link', { name: signed.metadata.filename }).waitFor();
    await put(1, 'app.bin.sig', Buffer.from(signed.signature, 'base64'));
    await verify();
    await page.getByText('The signature is valid').waitFor();
    await page.getByText('demo-rsa v1').first().waitFor();

    // Selecting another file clears the verification result.
    await put(0, 'other.bin', randomBytes(5000));
    await page.getByText('The signature is valid').waitFor({ state: 'detached' });
    await page.getByText('There are no requests for this file that you have permission to view.').waitFor();
    await verify();
    await page.getByText('The signature is not valid').waitFor();
    await put(1, 'no signature', Buffer.alloc(100_000));
    await page.getByText('This file is too large to be a signature.').waitFor();
    assertClean();
    await close();
  });

  it('restricts a key to file names and formats, and schedules and cancels its destruction', async () => {
    const { service, apiKey, asAdmin } = at();
    const key = await createKey(service, apiKey, { name: unique('terms'), type: 'ec-p256' });
    const { page, close, assertClean } = await asAdmin(`/keys/${key.id}`);
    const dialog = page.getByRole('dialog');
    const press = (name: string) => dialog.getByRole('button', { name, exact: true }).click();
    await page.getByText('No restrictions.').waitFor();
    await page.getByRole('button', { name: 'Edit', exact: true }).click();
    await dialog.getByLabel('Valid until').fill('2031-05-04');
    await dialog.getByRole('checkbox', { name: 'cms' }).check();
    await dialog.getByRole('textbox', { name: 'File names' }).fill('app-*.tar.gz');
    await dialog.getByRole('spinbutton', { name: 'Requests per day' }).fill('500');
    await dialog.getByRole('checkbox', { name: 'Restrict signing hours' }).check();
    await dialog.getByRole('checkbox', { name: 'Sat' }).check();
    await dialog.getByRole('textbox', { name: 'Time zone' }).fill('Europe/Berlin');
    await press('Save');
    await page.getByText('Mon, Tue, Wed, Thu, Fri, Sat 08:00–18:00 Europe/Berlin').waitFor();
    await page.getByText('0 / 500').waitFor();
    const { body } = await service.call('GET', `/api/v1/signing-keys/${key.id}`, { key: apiKey });
    expect(body.constraints).toEqual({
      formats: ['cms'],
      fileNames: ['app-*.tar.gz'],
      perDay: 500,
      hours: {
        days: ['mon', 'tue', 'wed', 'thu', 'fri', 'sat'],
        from: '08:00',
        until: '18:00',
        timeZone: 'Europe/Berlin',
      },
    });
    const refused = await service.call('POST', '/api/v1/sign/digest', {
      key: apiKey,
      body: { digest: digestOf('x'), key: key.name, metadata: { filename: 'other.zip' } },
    });
    expect(refused.status).toBe(403);

    // Fields that are not edited keep their values.
    await page.getByRole('button', { name: 'Edit', exact: true }).click();
    await dialog.getByRole('checkbox', { name: 'Restrict signing hours' }).uncheck();
    await press('Save');
    await page.getByText('Europe/Berlin').waitFor({ state: 'detached' });
    const { body: changed } = await service.call('GET', `/api/v1/signing-keys/${key.id}`, { key: apiKey });
    expect([changed.notAfter, changed.constraints.hours]).toEqual([body.notAfter, undefined]);

    await page.getByRole('button', { name: 'Destroy', exact: true }).click();
    await press('Destroy');
    await page.getByText('Scheduled for destruction', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Cancel destruction' }).click();
    await page.getByText('Disabled', { exact: true }).waitFor();
    assertClean();
    await close();
  });
}

import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { newApprovers, newGuardedKey } from '../../approvals/approvers.js';
import { signIn, visit } from '../console.js';
import { anHourLater, type ConsolePlace } from '../place.js';
import { sign, signature } from './signing.js';

export function approvalJourneys(at: () => ConsolePlace): void {
  it('two of three approve in browsers of their own, who was signed in for long shows who they are; the requester only watches', async () => {
    const { browser, url, asAdmin } = at();
    const approvers = await newApprovers(at(), 3);
    const { key } = await newGuardedKey(at(), [{ members: approvers, threshold: 2 }]);
    const requester = await asAdmin('/sign');
    const asked: string[] = [];
    requester.page.on('request', (request) => asked.push(new URL(request.url()).pathname));
    await requester.page
      .locator('input[type=file]')
      .setInputFiles({ name: 'firmware.bin', mimeType: 'text/plain', buffer: Buffer.from('firmware') });
    await requester.page.getByLabel('Key').selectOption(key.name);
    await sign(requester.page);
    await requester.page.getByText('Waiting for approval').first().waitFor();

    const digest = execFileSync('sha256sum', { input: 'firmware', encoding: 'utf8' }).slice(0, 64);
    for (const [index, approver] of approvers.slice(0, 2).entries()) {
      const { page, context, assertClean } = await visit(browser, `${url}/approvals?waiting=me`);
      await signIn(page, approver.email, approver.password);
      await page.getByRole('table').getByRole('link').first().click();
      await page.getByText(digest).waitFor();
      await page.getByText(`${index} of 2`).first().waitFor();
      const isLong = index === 1;
      if (isLong) await anHourLater(at(), 'user_id = $1', [approver.id]);
      await page.getByRole('button', { name: 'Approve', exact: true }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Approve', exact: true }).click();
      if (isLong) {
        const dialog = page.getByRole('dialog', { name: 'Confirm your identity' });
        await dialog.getByLabel('Password').fill(approver.password);
        await dialog.getByRole('button', { name: 'Continue' }).click();
      }
      await page.getByText('Your approval was recorded').first().waitFor();
      assertClean();
      await context.close();
    }
    await signature(requester.page).waitFor({ timeout: 90_000 });
    // It was told of the signature: it has asked once, and then listened.
    const id = requester.page.url().split('/').at(-1) ?? '';
    expect(asked).toContain(`/api/v1/sign/requests/${id}/events`);
    expect(asked.filter((path) => path === `/api/v1/sign/requests/${id}`).length).toBeLessThan(4);
    requester.assertClean();
    await requester.context.close();
  });
}

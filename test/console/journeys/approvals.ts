import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { newApprovers, newGuardedKey, vote } from '../../approvals/approvers.js';
import { signIn, visit } from '../console.js';
import { anHourLater, type ConsolePlace } from '../place.js';
import { pressSign, signature } from './signing.js';

export function approvalJourneys(at: () => ConsolePlace): void {
  it('two of three people approve in separate browsers, with step-up after an hour, and the request page of the requester updates live', async () => {
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
    await pressSign(requester.page);
    await requester.page.getByText('Pending approval').first().waitFor();

    const digest = execFileSync('sha256sum', { input: 'firmware', encoding: 'utf8' }).slice(0, 64);
    for (const [index, approver] of approvers.slice(0, 2).entries()) {
      const { page, close, assertClean } = await visit(browser, `${url}/approvals?waiting=me`);
      await signIn(page, approver.email, approver.password);
      await page.getByRole('table').getByRole('link').first().click();
      await page.getByText(digest).waitFor();
      // Metadata is shown as JSON, so that the members cannot be mistaken for members of the approved document.
      await page.getByText('"filename": "firmware.bin"').waitFor();
      await page.getByText(`${index} of 2`).first().waitFor();
      const needsStepUp = index === 1;
      if (needsStepUp) await anHourLater(at(), 'user_id = $1', [approver.id]);
      await page.getByRole('button', { name: 'Approve', exact: true }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Approve', exact: true }).click();
      if (needsStepUp) {
        const dialog = page.getByRole('dialog', { name: 'Confirm your identity' });
        await dialog.getByLabel('Password').fill(approver.password);
        await dialog.getByRole('button', { name: 'Continue' }).click();
      }
      await page.getByText('Approval recorded').first().waitFor();
      assertClean();
      await close();
    }
    await signature(requester.page).waitFor({ timeout: 90_000 });
    // The page received the signature through events instead of polling.
    const id = requester.page.url().split('/').at(-1) ?? '';
    expect(asked).toContain(`/api/v1/sign/requests/${id}/events`);
    expect(asked.filter((path) => path === `/api/v1/sign/requests/${id}`).length).toBeLessThan(4);
    requester.assertClean();
    await requester.close();
  });

  it('stores a self-signed certificate after approval, tests a policy draft on past requests, and keeps other key restrictions on edit', async () => {
    const { service, apiKey, asAdmin, url } = at();
    const [approver] = await newApprovers(at(), 1);
    if (approver === undefined) throw new Error('no approver was created');
    const { key, policy } = await newGuardedKey(at(), [{ members: [approver], threshold: 1 }]);
    const { page, close, assertClean } = await asAdmin(`/keys/${key.id}`);
    const dialog = page.getByRole('dialog');
    await page.getByRole('button', { name: 'Self-signed certificate' }).click();
    await dialog.getByRole('textbox', { name: 'Common name' }).fill('Release 2027');
    await dialog.getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByRole('heading', { name: `${key.name}.crt` }).waitFor();
    const requestId = page.url().split('/').at(-1);
    const request = await service.call('GET', `/api/v1/sign/requests/${requestId}`, { key: apiKey });
    const approval = await service.call('GET', `/api/v1/approvals/${request.body.approvalId}`, { key: apiKey });
    const requester = approval.body.requester.id;
    await vote(service, request.body.approvalId, approver);
    await page.getByRole('button', { name: 'Store certificate', exact: true }).click();
    await page.getByText('Certificate stored').first().waitFor();

    await page.goto(`${url}/policies`);
    await page.getByRole('button', { name: `Actions for ${policy.body.name}` }).click();
    await page.getByRole('menuitem', { name: 'Edit' }).click();
    const rows = (name: string) => dialog.getByRole('group', { name: new RegExp(`^${name}.* 1$`) });
    await dialog.getByRole('button', { name: 'Add a condition' }).click();
    const condition = rows('Require approval only when');
    await condition.getByRole('combobox', { name: 'Fact' }).selectOption('Runner');
    await condition.getByRole('textbox', { name: 'Values' }).fill('self-hosted');
    await dialog.getByRole('button', { name: 'Add an exception' }).click();
    const exception = rows('Do not require approval when');
    const facts = exception.getByRole('combobox', { name: 'Fact' });
    // The client chooses the format, so exceptions cannot depend on the format.
    expect(await facts.getByRole('option').allTextContents()).not.toContain('Signature format');
    await facts.selectOption('Caller');
    await exception.getByRole('textbox', { name: 'Values' }).fill(requester);
    await dialog.getByRole('button', { name: 'Test on past requests' }).click();
    const tried = dialog.getByRole('row', { name: `${key.name}.crt` });
    await tried.getByText('No approval').waitFor();
    await tried.getByText('The exception applies:').waitFor();
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.waitFor({ state: 'detached' });
    const { body: saved } = await service.call('GET', `/api/v1/approval-policies/${policy.body.id}`, { key: apiKey });
    expect(saved).toMatchObject({
      conditions: [{ fact: 'verified.runner_environment', op: 'in', values: ['self-hosted'] }],
      unless: [{ fact: 'caller', op: 'in', values: [requester] }],
    });

    await page.goto(`${url}/keys/${key.id}`);
    await page.getByText('CN=Release 2027').first().waitFor();
    const restrict = async (act: () => Promise<void>) => {
      await page.getByRole('button', { name: 'Edit' }).click();
      await act();
      await dialog.getByRole('button', { name: 'Save' }).click();
      await dialog.waitFor({ state: 'detached' });
    };
    await restrict(async () => {
      await dialog.getByRole('button', { name: 'Add a claim' }).click();
      await dialog.getByRole('textbox', { name: 'Values' }).fill('org/app');
    });
    await page.getByText('org/app').waitFor();
    await restrict(() => dialog.getByRole('spinbutton').first().fill('7'));
    const { body: restricted } = await service.call('GET', `/api/v1/signing-keys/${key.id}`, { key: apiKey });
    expect(restricted.constraints).toEqual({ verified: [{ claim: 'repository', values: ['org/app'] }], perDay: 7 });
    assertClean();
    await close();
  });
}

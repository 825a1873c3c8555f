import { expect, it } from 'vitest';
import { unique } from '../../approvals/approvers.js';
import type { ConsolePlace } from '../place.js';

export function settingsJourneys(at: () => ConsolePlace): void {
  it('creates an API key that is limited to signing keys, shows it once, changes it and revokes it', async () => {
    const { service, asAdmin } = at();
    const { page, close, assertClean } = await asAdmin('/settings/api-keys');
    await page.getByRole('button', { name: 'Create an API key' }).click();
    await page.getByLabel('Name').fill('pipeline');
    await page.getByRole('checkbox', { name: 'sign:read' }).check();
    await page.getByRole('dialog').getByLabel('Signing keys').fill('release-*\nci');
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    const secret = (await page.locator('[data-secret]').textContent()) ?? '';
    expect(secret).toMatch(/^sw_/);
    expect((await service.call('GET', '/api/v1/sign/requests', { key: secret })).status).toBe(200);
    expect((await service.call('GET', '/api/v1/signing-keys', { key: secret })).status).toBe(403);
    await page.getByRole('button', { name: 'I have stored it' }).click();
    await page.getByRole('cell', { name: 'pipeline', exact: true }).waitFor();
    expect(await page.content()).not.toContain(secret);
    const row = page.getByRole('row').filter({ hasText: 'pipeline' });
    await row.getByText('release-*, ci').waitFor();
    await page.getByRole('button', { name: 'Actions for pipeline' }).click();
    await page.getByRole('menuitem', { name: 'Edit' }).click();
    await page.getByRole('dialog').getByLabel('Signing keys').fill('');
    await page.getByRole('dialog').getByRole('button', { name: 'Save', exact: true }).click();
    await row.getByText('All keys').waitFor();
    await page.reload();
    await page.getByRole('cell', { name: 'pipeline', exact: true }).waitFor();
    expect(await page.content()).not.toContain(secret);
    await page.getByRole('button', { name: 'Actions for pipeline' }).click();
    await page.getByRole('menuitem', { name: 'Revoke' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
    await page.getByText('Revoked').first().waitFor();
    expect((await service.call('GET', '/api/v1/sign/requests', { key: secret })).status).toBe(401);
    assertClean();
    await close();
  });

  it('creates an alert rule with a threshold and edits it', async () => {
    const name = unique('weak');
    const { page, close, assertClean } = await at().asAdmin('/settings/alert-rules');
    const dialog = page.getByRole('dialog');
    const row = page.getByRole('row').filter({ hasText: name });
    await page.getByRole('button', { name: 'Create a rule' }).first().click();
    await dialog.getByRole('textbox', { name: 'Name', exact: true }).fill(name);
    await dialog.getByRole('combobox', { name: 'Condition' }).selectOption('risk-threshold');
    await dialog.getByRole('combobox', { name: 'Minimum risk' }).selectOption('HIGH');
    await dialog.getByRole('button', { name: 'Create', exact: true }).click();
    await row.getByText('High or higher').waitFor();
    await page.getByRole('button', { name: `Actions for ${name}` }).click();
    await page.getByRole('menuitem', { name: 'Edit' }).click();
    await dialog.getByRole('combobox', { name: 'Minimum risk' }).selectOption('CRITICAL');
    await dialog.getByRole('button', { name: 'Save', exact: true }).click();
    await row.getByText('Critical or higher').waitFor();
    assertClean();
    await close();
  });

  it('a repeated submission after a lost response creates a single resource', async () => {
    const { service, asAdmin, apiKey } = at();
    const { page, close } = await asAdmin('/rotation-policies');
    const name = unique('lost');
    const dialog = page.getByRole('dialog');
    let lost = 0;
    await page.route('**/v1/rotation-policies', async (route) => {
      if (route.request().method() !== 'POST' || lost > 0) return route.fallback();
      lost += 1;
      expect((await route.fetch()).status()).toBe(201);
      return route.abort('connectionreset');
    });
    await page.getByRole('button', { name: 'Create a policy' }).first().click();
    await dialog.getByRole('textbox', { name: 'Name', exact: true }).fill(name);
    await dialog.getByRole('button', { name: 'Create', exact: true }).click();
    await dialog.getByRole('alert').waitFor();
    await dialog.getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByRole('cell', { name }).first().waitFor();
    await dialog.waitFor({ state: 'detached' });
    const { body } = await service.call('GET', '/v1/rotation-policies?limit=200', { key: apiKey });
    const made = body.items.filter((policy: { name: string }) => policy.name === name);
    expect(made).toHaveLength(1);
    await service.call('DELETE', `/v1/rotation-policies/${made[0].id}`, { key: apiKey });
    await close();
  });

  it('creates a rotation policy with a maintenance window, edits and removes it', async () => {
    const { page, close, assertClean } = await at().asAdmin('/rotation-policies');
    const dialog = page.getByRole('dialog');
    await page.getByRole('button', { name: 'Create a policy' }).first().click();
    await dialog.getByRole('textbox', { name: 'Name', exact: true }).fill('Once a year');
    await dialog.getByRole('checkbox', { name: 'Restrict changes to a maintenance window' }).check();
    await dialog.getByRole('spinbutton', { name: 'From (hour, UTC)' }).fill('23');
    await dialog.getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByText('23:00 to 04:00 UTC').waitFor();
    const act = async (name: string) => {
      await page.getByRole('button', { name: 'Actions for Once a year' }).click();
      await page.getByRole('menuitem', { name }).click();
    };
    await act('Edit');
    expect(await dialog.getByRole('spinbutton', { name: 'From (hour, UTC)' }).inputValue()).toBe('23');
    await dialog.getByRole('checkbox', { name: 'Restrict changes to a maintenance window' }).uncheck();
    await dialog.getByRole('spinbutton', { name: 'Maximum key age (days)' }).fill('180');
    await dialog.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('older than 180 days').waitFor();
    await page.getByText('at any time').waitFor();
    await act('Remove');
    await dialog.getByRole('button', { name: 'Remove', exact: true }).click();
    await page.getByText('No rotation policies yet').waitFor();
    assertClean();
    await close();
  });

  it('sends a test email, and shows the reason if sending fails', async () => {
    const { mail, asAdmin } = at();
    const { page, close, assertClean } = await asAdmin('/settings/general');
    const send = async () => {
      await page.getByRole('button', { name: 'Send a test email' }).click();
      await page.getByRole('dialog').getByLabel('Recipient').fill('ada@example.org');
      await page.getByRole('dialog').getByRole('button', { name: 'Send a test email' }).click();
    };
    await send();
    await page.getByText('The SMTP server accepted the email').waitFor();
    expect(mail.received.map(({ to, subject }) => [to, subject])).toContainEqual([
      'ada@example.org',
      'Sealwright: test email',
    ]);
    await mail.stop();
    await send();
    await page.getByText('The email was not sent').waitFor();
    await page.getByText('ECONNREFUSED').waitFor();
    await mail.start();
    assertClean();
    await close();
  });

  it('registers a sensor, shows its key once, receives a heartbeat, schedules a scan and disables the sensor', async () => {
    const { service, asAdmin } = at();
    const [sensor, schedule] = [unique('east'), unique('nightly')];
    const { page, close, assertClean } = await asAdmin('/sensors');
    await page.getByRole('button', { name: 'Register a sensor' }).first().click();
    await page.getByLabel('Name').fill(sensor);
    await page.getByRole('dialog').getByRole('button', { name: 'Register a sensor' }).click();
    const key = (await page.locator('[data-secret]').first().textContent()) ?? '';
    await page.getByRole('button', { name: 'I have stored it' }).click();
    await page.getByText('No heartbeat yet').first().waitFor();
    const beat = (body: object = {}) => service.call('POST', '/api/sensors/heartbeat', { key, body });
    expect((await beat({ version: '1.0', error: 'cannot read /etc/ssl/private' })).status).toBe(200);
    await page.getByRole('link', { name: sensor }).click();
    await page.getByText('cannot read /etc/ssl/private').waitFor();

    await page.goto(`${at().url}/schedules`);
    await page.getByRole('button', { name: 'Create a schedule' }).first().click();
    await page.getByLabel('Name').fill(schedule);
    await page.getByLabel('Time zone').fill('Europe/Berlin');
    await page.getByLabel('Sensor').selectOption(sensor);
    await page.getByRole('dialog').getByRole('button', { name: 'Create', exact: true }).click();
    const next = page.getByRole('list', { name: 'Next five runs' }).getByRole('listitem');
    await next.first().waitFor();
    expect(await next.count()).toBe(5);
    await page.getByRole('button', { name: 'Run now' }).click();
    await page.getByText('Manual', { exact: true }).waitFor();
    await expect.poll(async () => (await beat()).body.commands, { timeout: 90_000 }).toHaveLength(1);
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByText('The schedule is paused. No runs are scheduled.').waitFor();

    await page.goto(`${at().url}/sensors`);
    await page.getByRole('link', { name: sensor }).click();
    await page.getByRole('button', { name: 'Disable' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Disable' }).click();
    await page.getByText('Disabled').first().waitFor();
    await expect.poll(async () => (await beat()).status, { timeout: 6000 }).toBe(401);
    assertClean();
    await close();
  });
}

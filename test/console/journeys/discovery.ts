import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { expect, it } from 'vitest';
import { unique } from '../../approvals/approvers.js';
import { canRunSshd, startSshd } from '../../support/sshd.js';
import type { ConsolePlace } from '../place.js';

/** Starts a server that listens on all loopback addresses, accepts connections and sends nothing. `hurry` closes all connections. */
async function startSlowServer() {
  const held = new Set<Socket>();
  let isSlow = true;
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    if (!isSlow) {
      socket.destroy();
      return;
    }
    held.add(socket);
  });
  server.listen(0, '0.0.0.0');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const hurry = () => {
    isSlow = false;
    for (const socket of held) socket.destroy();
  };
  return { port: address.port, hurry, close: () => server.close() };
}

export function discoveryJourneys(at: () => ConsolePlace): void {
  it.skipIf(!canRunSshd())('a scan shows its progress, also after a reload, and its results', async () => {
    const [sshd, slow] = await Promise.all([startSshd(), startSlowServer()]);
    const { page, close, assertClean } = await at().asAdmin('/scan-scopes');
    const name = unique('lab');
    const asked: string[] = [];
    page.on('request', (request) => asked.push(new URL(request.url()).pathname));
    await page.getByRole('button', { name: 'Create a scope' }).first().click();
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill(name);
    await page.getByLabel('Networks').fill(`${sshd.address.replace(/\d+$/, '0')}/28`);
    await page.getByLabel('Ports').fill(`${sshd.port}\n${slow.port}`);
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByText(name).waitFor();

    await page.getByRole('link', { name: 'Scans', exact: true }).click();
    await page.getByRole('button', { name: 'Start a scan' }).first().click();
    await page.getByRole('dialog').getByRole('button', { name: 'Start a scan' }).click();
    await page.getByText('Running', { exact: true }).waitFor();
    const bar = page.getByRole('progressbar', { name: 'Scan progress' });
    const percent = async () => Number(await bar.getAttribute('aria-valuenow'));
    await expect.poll(percent, { timeout: 90_000 }).toBeGreaterThan(0);
    expect(await percent()).toBeLessThan(100);
    await page.reload();
    await bar.waitFor();
    expect(await percent()).toBeGreaterThan(0);
    // The scan ends only after the progress has been checked, so that slow browsers can show the progress.
    slow.hurry();
    await page.getByText('Done', { exact: true }).waitFor({ timeout: 90_000 });
    expect(await percent()).toBe(100);
    await page.getByText('Scan finished: Done').waitFor();
    await page
      .getByText(/^SSH-2\.0-OpenSSH/)
      .first()
      .waitFor();
    // Progress arrives through events. The page reads the scan only on load and between two event streams.
    const path = new URL(page.url()).pathname.replace('/scans/', '/v1/scans/');
    expect(asked.filter((one) => one === `${path}/events`).length).toBeGreaterThan(1);
    expect(asked.filter((one) => one === path).length).toBeLessThan(6);
    assertClean();
    await close();
    slow.close();
    await sshd.close();
  });
}

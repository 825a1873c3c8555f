import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { about, algorithm, bom } from '../../inventory/documents.js';
import { officialCheck } from '../../support/cyclonedx-schema.js';
import { type ConsolePlace, download } from '../place.js';

export function inventoryJourneys(at: () => ConsolePlace): void {
  it('a document is imported with its repairs told, found by filters, and exported as the official schema wants it', async () => {
    const { folder, asAdmin } = at();
    const rsa = algorithm({ name: 'RSA-2048', at: 'src/tls.c' });
    const file = join(folder, 'shop.cdx.json');
    // The list must have each item once: that is put right, and said.
    const repeated = { ref: 'RSA-2048', dependsOn: ['AES-256-GCM', 'AES-256-GCM'] };
    const document = bom([rsa, algorithm({ name: 'AES-256-GCM' })], { ...about('shop'), dependencies: [repeated] });
    writeFileSync(file, JSON.stringify(document));
    const { page, context, assertClean } = await asAdmin('/imports');
    await page.locator('input[type=file]').setInputFiles(file);
    await page.getByRole('button', { name: 'Import', exact: true }).click();
    await page.getByRole('heading', { name: /^Repaired/ }).waitFor();
    await page.getByText('/dependencies/0/dependsOn').first().waitFor();
    await page.getByRole('link', { name: /^Show the assets of/ }).click();
    await page.getByRole('link', { name: 'RSA-2048' }).first().waitFor();

    await page.getByRole('textbox', { name: 'Family' }).fill('RSA');
    await page.keyboard.press('Enter');
    await page.waitForURL(/family=RSA/);
    await page.getByText('1 in all').waitFor();
    const path = await download(folder, page, () => page.getByRole('link', { name: 'Export as CycloneDX' }).click());
    const written = JSON.parse(readFileSync(path, 'utf8')) as { components: { name: string }[] };
    const check = officialCheck();
    expect([check(written), check.errors]).toEqual([true, null]);
    expect(written.components.map(({ name }) => name)).toEqual(['RSA-2048']);

    await page.goBack();
    await page.getByText('2 in all').waitFor();
    assertClean();
    await context.close();
  });
}

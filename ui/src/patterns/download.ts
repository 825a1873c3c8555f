/** download saves bytes as a file. */
export function download(name: string, content: BlobPart, type = 'application/octet-stream'): void {
  const url = URL.createObjectURL(new Blob([content], { type }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  // Revoke the URL later, because the browser must have started to read it.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

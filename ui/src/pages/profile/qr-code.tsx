import qrcode from 'qrcode-generator';
import { useMemo } from 'react';

const QUIET = 4;

/** QrCode draws a QR code as one SVG path, in the browser because the content is a secret. It is dark on light in both color schemes, as scanners expect. */
export function QrCode({ text, label }: { text: string; label: string }) {
  const { size, path } = useMemo(() => {
    const code = qrcode(0, 'M');
    code.addData(text);
    code.make();
    const modules = code.getModuleCount();
    const cells = Array.from(
      { length: modules * modules },
      (_, index) => [index % modules, Math.floor(index / modules)] as const,
    );
    const dark = cells.filter(([x, y]) => code.isDark(y, x));
    return { size: modules + 2 * QUIET, path: dark.map(([x, y]) => `M${x + QUIET} ${y + QUIET}h1v1h-1z`).join('') };
  }, [text]);
  return (
    <svg viewBox={`0 0 ${size} ${size}`} className="sw-qr" role="img" aria-label={label} shapeRendering="crispEdges">
      <rect width={size} height={size} fill="#fff" />
      <path d={path} fill="#000" />
    </svg>
  );
}

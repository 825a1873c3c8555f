import type { overview as english } from '../en/overview.js';

export const overview: Record<keyof typeof english, string> = {
  'dashboard.lead': 'Signaturaktivität, kryptografische Assets und Migrationsfristen.',
  'dashboard.recent': 'Letzte Signaturanfragen',

  'demo.body': 'Beim ersten Start wurden Demodaten geladen. Ihre Quellen beginnen mit „demo:“.',
  'demo.remove': 'Demodaten entfernen',
  'demo.remove.lead':
    'Entfernt die Demoquellen und alle Assets, die nur dort vorkommen. Ihre eigenen Daten bleiben erhalten.',
  'demo.removed': 'Demodaten entfernt',
  'demo.title': 'Dieses Inventar enthält Demodaten',

  'figure.assets': 'Kryptografische Assets',
  'figure.assets.hint': 'im Inventar',
  'figure.expired': 'Abgelaufen',
  'figure.expired.hint': 'abgelaufene Zertifikate und Schlüssel',
  'figure.ready': 'Quantensicher',
  'figure.ready.hint': 'der quantenrelevanten Assets',
  'figure.urgent': 'Hohes oder kritisches Risiko',
  'figure.urgent.hint': 'Assets mit Vorrang',

  'firstSteps.done': 'erledigt',
  'firstSteps.hide': 'Erste Schritte ausblenden',
  'firstSteps.inventory': 'Inventar aufbauen',
  'firstSteps.inventory.why':
    'Importieren Sie ein CycloneDX-Dokument oder starten Sie einen Scan, um zu sehen, welche Kryptografie Sie einsetzen.',
  'firstSteps.key': 'Signaturschlüssel erzeugen',
  'firstSteps.key.why': 'Der Schlüssel wird im HSM erzeugt und verlässt es nie.',
  'firstSteps.open': 'offen',
  'firstSteps.sign': 'Erste Datei signieren',
  'firstSteps.sign.why': 'Die Datei wird in Ihrem Browser gehasht. Nur der Digest wird gesendet.',
  'firstSteps.title': 'Erste Schritte',

  'plot.deadlines': 'Zu migrierende Assets nach Frist',
  'plot.deadlines.date': 'Frist',
  'plot.deadlines.due': 'Fällig',
  'plot.deadlines.left': 'Später fällig',
  'plot.expiry': 'Ablauf in den nächsten 12 Monaten',
  'plot.families': 'Algorithmenfamilien nach Risiko',
  'plot.latency': 'Signaturlatenz (letzte 200 Anfragen)',
  'plot.latency.share': 'p{percent}',
  'plot.levels': 'Assets nach Risiko',
  'plot.overTime': 'Risiko im Zeitverlauf',
  'plot.overTime.day': 'Tag',
  'plot.sizes': 'Schlüssellängen nach Algorithmenfamilie',
};

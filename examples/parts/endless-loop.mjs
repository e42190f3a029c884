/** Counts for ever, without ever looking at its signal. */
export function run({ log }) {
  log.info('counting')
  for (;;);
}

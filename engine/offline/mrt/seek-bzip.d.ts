/** The part of `seek-bzip` that is used here; the package ships no types. */
declare module 'seek-bzip' {
  interface ByteSink {
    writeByte(value: number): void;
    flush(): void;
  }
  const Bunzip: {
    decode(input: Uint8Array, output: ByteSink, multistream: boolean): void;
  };
  export default Bunzip;
}

/* Search in pages that are opened from a disk: browsers start no worker there, so its script runs in a hidden frame.
   The name matters: zensical adds a script from a server of others unless `extra.polyfills` has one called iframe-worker. */
if (location.protocol === "file:") {
  window.Worker = class {
    constructor(url) {
      this.waiting = []
      this.frame = document.createElement("iframe")
      this.frame.hidden = true
      document.body.append(this.frame)
      const inside = this.frame.contentWindow
      inside.postMessage = data => this.onmessage?.({ data })
      inside.onerror = () => this.onerror?.(new Event("error", { cancelable: true }))
      const script = inside.document.createElement("script")
      script.src = url
      script.onload = () => {
        this.isReady = true
        this.waiting.splice(0).forEach(data => this.postMessage(data))
      }
      script.onerror = () => this.onerror?.(new Event("error", { cancelable: true }))
      inside.document.body.append(script)
    }
    postMessage(data) {
      if (!this.isReady) return void this.waiting.push(data)
      const inside = this.frame.contentWindow
      setTimeout(() => inside.dispatchEvent(new inside.MessageEvent("message", { data })))
    }
    terminate() {
      this.frame.remove()
    }
  }
}
